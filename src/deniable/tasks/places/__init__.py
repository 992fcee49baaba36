"""Where people are and how they move, without tracking anyone: grids, quadtrees, named places, tracks."""

from deniable.removed import explain_removed
from deniable.tasks.places.box import Box
from deniable.tasks.places.estimate import PlacesEstimate
from deniable.tasks.places.every_move import EveryMove
from deniable.tasks.places.flows import Flows
from deniable.tasks.places.geojson import read_geojson_points, read_regions
from deniable.tasks.places.grid import Grid
from deniable.tasks.places.movement import Movement
from deniable.tasks.places.named import NamedPlaces
from deniable.tasks.places.personal import PersonalPlaces
from deniable.tasks.places.polygon import Polygon
from deniable.tasks.places.quadtree import QuadTree
from deniable.tasks.places.taxonomy import Taxonomy
from deniable.tasks.places.tracks import Tracks
from deniable.tasks.places.uniform import UniformGrid

__all__ = [
    "Box",
    "EveryMove",
    "Flows",
    "Grid",
    "Movement",
    "NamedPlaces",
    "PersonalPlaces",
    "PlacesEstimate",
    "Polygon",
    "QuadTree",
    "Taxonomy",
    "Tracks",
    "UniformGrid",
    "read_geojson_points",
    "read_regions",
]

explain_removed(__name__)
