"""The collector over HTTP: ingest, API, access and the server itself."""
