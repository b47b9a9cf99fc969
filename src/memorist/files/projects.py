"""The label of a project, which is the agent of what was said in it."""

import os


def project_of(folder: str) -> str:
    """Return the label of a project: the path of the repository that a folder is in, else of the folder itself."""
    if folder.startswith("/") and os.path.splitdrive(folder[1:])[0]:
        folder = folder[1:]  # as Cursor writes a folder of Windows: /c:/Users/jane
    start = place = os.path.realpath(folder)
    while not os.path.exists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return start[-512:]
        place = above
    return place[-512:]
