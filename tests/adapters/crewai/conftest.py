import os
from importlib.util import find_spec

if find_spec("crewai") is not None:
    os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false")
