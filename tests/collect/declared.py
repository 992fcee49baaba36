"""Task files that name protocols, one for each that a collector can run, and crowds that answer some of them."""

from __future__ import annotations

HEAD = """
name = "{name}"
question = "What is yours?"
owner = "research@example.org"
epsilon = 8
weak_privacy = true
lasts = "30 days"
people = 20_000
minimum_batch = 20
"""
SHOP = '[domain.sets]\ncategories = ["tea", "milk", "bread", "jam", "salt", "rice"]\n'
AGES = "[domain]\nintegers = [0, 31]\n"
BODY = "[protocol.features]\nage = [0, 120]\ndose = { numbers = { low = 0, high = 1, clip = true } }\n"
WORDS = "[domain]\ntext = 2\n"
VOCABULARY = 'vocabulary = ["good", "morning", "night"]\n'
PROTOCOLS = {
    "AHEAD": AGES + '[protocol]\nname = "AHEAD"\nbranching = 2\n',
    "Bigrams": '[protocol]\nname = "Bigrams"\n' + VOCABULARY,
    "Bitstogram": WORDS + '[protocol]\nname = "Bitstogram"\nk = 4\nfunctions = 1\nhash_bits = 4\n',
    "HaarHRR": f'protocol = "HaarHRR"\n{AGES}',
    "Hierarchy": AGES + '[protocol]\nname = "Hierarchy"\nbranching = 4\noracle = "GRR"\n',
    "IndependentSegments": WORDS + '[protocol]\nname = "IndependentSegments"\nk = 4\nholdout = 0.2\n',
    "KMeans": '[protocol]\nname = "KMeans"\nclusters = 2\nrounds = 2\nstart = [[10, 0.1], [80, 0.9]]\nclip = 0\n' + BODY,
    "LDPMiner": SHOP + '[protocol]\nname = "LDPMiner"\nk = 2\nlength = 2\n',
    "LogisticRegression": '[protocol]\nname = "LogisticRegression"\nlabel = "ill"\nrounds = 2\nstep = 4.0\n'
    'classes = { categories = ["no", "yes"] }\n' + BODY,
    "Marginals": '[protocol]\nname = "Marginals"\nk = 2\nmethod = "split"\n'
    '[protocol.columns]\nplace = ["bar", "inn", "spa"]\nmood = ["good", "bad"]\nstars = { integers = [1, 3] }\n',
    "Movement": '[protocol]\nname = "Movement"\nlongest = 3\noracle = "GRR"\n[protocol.grid]\ncolumns = 3\nrows = 2\noutside = "count"\n'
    "box = { west = 0, south = 0, east = 3, north = 2, plane = true }\n",
    "MultipleChannels": WORDS + '[protocol]\nname = "MultipleChannels"\nk = 4\n',
    "NewWords": '[protocol]\nname = "NewWords"\nknown = ["good"]\nlongest = 3\nk = 2\nround = "1 hour"\n',
    "NodeDegrees": '[protocol]\nname = "NodeDegrees"\nnodes = 5_000\nstarts = [0, 1, 10, 100]\n',
    "PEM": WORDS + '[protocol]\nname = "PEM"\nk = 2\ngroups = 2\nallocation = "equal"\nround = "1 hour"\n',
    "PSFO": SHOP + '[protocol]\nname = "PSFO"\nlength = 2\n',
    "QuadTree": '[protocol]\nname = "QuadTree"\ndepth = 2\nadaptive = true\noutside = "count"\nlevels = [1, 2]\n'
    "[protocol.box]\nwest = 0\nsouth = 0\neast = 16.0\nnorth = 16\nplane = true\n",
    "RotatingModels": '[protocol]\nname = "RotatingModels"\nlabel = "ill"\nrounds = 2\nmodels = 3\n' + BODY,
    "SFP": WORDS + '[protocol]\nname = "SFP"\nk = 4\nfragment = 1\n',
    "SVIM": SHOP + '[protocol]\nname = "SVIM"\nk = 2\nlongest = 3\nshares = ["1/3", "1/3", "1/3"]\n',
    "SVSM": SHOP + '[protocol]\nname = "SVSM"\nk = 2\n',
    "SampledFactorization": '[protocol]\nname = "SampledFactorization"\nitems = 3\nlow = 1\nhigh = 5\nrounds = 1\n',
    "SegmentPairs": WORDS + '[protocol]\nname = "SegmentPairs"\nk = 4\n',
    "Terms": '[protocol]\nname = "Terms"\nngram = 2\nvocabulary = ["good morning", "good night"]\n',
    "TreeHist": WORDS + '[protocol]\nname = "TreeHist"\nk = 4\n',
    "UniformGrid": '[protocol]\nname = "UniformGrid"\noracle = "GRR"\n[protocol.grid]\ncolumns = 4\nrows = 2\noutside = "count"\n'
    "box = { west = -10.5, south = 35, east = 30.25, north = 60 }\n",
    "WholeSets": SHOP + '[protocol]\nname = "WholeSets"\nk = 2\n',
    "WordPairs": '[protocol]\nname = "WordPairs"\noracle = "OUE"\n' + VOCABULARY,
}
"""By the name of the protocol."""
RECORDS = [{"age": age, "dose": age % 3 / 2, "ill": "yes" if age > 60 else "no"} for age in range(5, 120, 5)]
REVIEWS = [{"place": ("bar", "spa")[i % 2], "mood": ("good", "bad", "bad")[i % 3], "stars": 1 + i % 3} for i in range(12)]
CHAT = ["Good morning!", "good night, boo", "boo", ["night", "hey"], ""]
CROWDS = {
    **dict.fromkeys(("Bigrams", "NewWords", "Terms", "WordPairs"), CHAT * 20),
    "Hierarchy": [i % 8 for i in range(16)] * 5,
    "LogisticRegression": RECORDS * 3,
    "Marginals": REVIEWS * 8,
    "Movement": [[], [0, 1], [0, 1, 4], [6, 0], [5]] * 50,
    "NodeDegrees": [0, 3, 3, 17, 4_999] * 16,
    "PEM": ["te", "te", "ma", "te"] * 24,
    "SVIM": [["tea", "milk"], ["tea"], ["tea", "jam", "milk"], []] * 40,
    "SampledFactorization": [{0: 5, 1: 2.5}, {1: 1}, {}, {2: 4, 0: 4.5, 1: 3}] * 30,
    "SVSM": [["tea", "milk"], ["tea"], ["tea", "jam", "milk"], []] * 60,
    "QuadTree": [0, 0, 0, 5, 16] * 20,
    "UniformGrid": [0, 0, 3, 7, 8] * 20,
}
"""What people hold, where they are asked."""


def task_file(protocol: str, **changed: str) -> bytes:
    """The task file of a protocol, with some lines of its head said otherwise."""
    head = HEAD.format(name=protocol.lower())
    for name, value in changed.items():
        head = "\n".join(line for line in head.splitlines() if not line.startswith(f"{name} =")) + f"\n{name} = {value}\n"
    return (head + PROTOCOLS[protocol]).encode()
