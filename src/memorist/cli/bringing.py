"""A project's records under an earlier label of this folder get its label of today, once, at every door that knows one.

That a folder is done is noted in the state folder, so that it costs a hook nothing more than to read that file. Only
what was surely said in this folder is brought over: the records labelled with its path, as older versions did it, and
with the first commit, where the repository had no remote when this folder was last used. See `memorist project` for
what was said elsewhere.
"""

import json
import os
from collections.abc import Sequence

from memorist.files.git.noted import note, noted
from memorist.files.projects import BY_COMMIT, Project

MOST = 2000
"""The most records that a call brings over: a coding agent waits for it. The next call goes on."""
SOURCE = "project"
_FILE = "projects.json"
_MOST_NOTED = 5000


class Earlier:
    """The labels that a project had before, as far as their records are not brought over yet.

    Args:
        project: the project, in the folder where it is used.
        whose: what the records are in: the store, the tenant and the user.
    """

    def __init__(self, project: Project, whose: Sequence[str | None]) -> None:
        self._place = json.dumps([*whose, os.path.realpath(project.root)])
        self._label = project.whole
        before = noted(_FILE).get(self._place)
        labels = () if before == project.whole else (project.path, before or "")
        commit = project.whole if project.known_by == "remote" else None
        self.labels = [
            label
            for label in labels
            if label and label != project.whole and (label == project.path or (commit and label.startswith(BY_COMMIT)))
        ]
        self._is_new = before != project.whole and (before is not None or project.known_by != "path")

    def done(self, counts: Sequence[int]) -> None:
        """Note that all was brought over, unless a call for one of the labels brought over as many as it may."""
        if not self._is_new or any(count >= MOST for count in counts):
            return
        note(_FILE, {**noted(_FILE), self._place: self._label}, most=_MOST_NOTED)
