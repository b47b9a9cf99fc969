"""The operations: for each verb, how HTTP carries its request and its answer, and the right that a caller needs.

The remote engine, the REST routes and their OpenAPI description are made from this table. What is done in another way
(an upload, a download, a progress report, an idempotency key) is written out where it is done.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from memorist.operations import requests
from memorist.operations.answers import Provenance
from memorist.operations.request import Request, answer_of
from memorist.records.codec import decoder, plain

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """How HTTP carries a verb.

    Args:
        method: of HTTP. The arguments of a GET stand in the query, those of any other in a JSON body.
        path: below ``/v1``; ``{id}`` is the argument `id`.
        right: what the caller needs.
        field: the field of the JSON object that holds the answer; "" where the answer is that object.
        repeat: whether a request is sent again where the connection failed.
        everyone: whether it is about all users of the tenant.
        operator: whether it is about all tenants.
        nothing: makes the answer for an id or a key that nothing has; by default that is an error.
        statuses: of errors that it has beside those of every operation.
        encode: makes the answer, or its field, plain JSON.
        decode: reads what `encode` made; by default the codec of the answer's type.
    """

    method: Method = "POST"
    path: str
    right: Literal["read", "write", "admin"] = "read"
    field: str = ""
    repeat: bool = True
    everyone: bool = False
    operator: bool = False
    nothing: Callable[[], Any] | None = None
    statuses: tuple[int, ...] = ()
    encode: Callable[[Any], Any] = plain
    decode: Callable[[Any], Any] | None = None

    def told(self, answer: Any) -> Any:
        """Return an answer as JSON has it."""
        made = self.encode(answer)
        return {self.field: made} if self.field else made

    def read(self, kind: type[Request[Any]], told: Any) -> Any:
        """Return the answer to a type of request that `told` made JSON of."""
        return (self.decode or decoder(answer_of(kind)))(told[self.field] if self.field else told)


def _vectors(found: Mapping[str, Any]) -> dict[str, Any]:
    import numpy as np

    return {id: np.asarray(vector, np.float32) for id, vector in found.items()}


OPERATIONS: Mapping[type[Request[Any]], Operation] = {
    requests.Revise: Operation(method="PATCH", path="/records/{id}", right="write", repeat=False, statuses=(404, 409)),
    requests.Rate: Operation(method="PUT", path="/records/{id}/rating", right="write", statuses=(404, 409)),
    requests.Forget: Operation(path="/forget", right="write", field="forgotten", repeat=False, statuses=(409,)),
    requests.Relabel: Operation(path="/relabel", right="write", field="relabelled", statuses=(409,)),
    requests.Recall: Operation(path="/recall", field="hits"),
    requests.Context: Operation(path="/context"),
    requests.Recent: Operation(path="/recent", field="records"),
    requests.Browse: Operation(path="/browse"),
    requests.Count: Operation(path="/count", field="count"),
    requests.Traces: Operation(path="/traces"),
    requests.Changes: Operation(path="/changes"),
    requests.Find: Operation(path="/find", field="records"),
    requests.Vectors: Operation(
        path="/vectors",
        field="vectors",
        encode=lambda found: {id: vector.tolist() for id, vector in found.items()},
        decode=_vectors,
    ),
    requests.Derived: Operation(path="/derived"),
    requests.Lookup: Operation(method="GET", path="/lookup", nothing=lambda: None, statuses=(404,)),
    requests.Get: Operation(method="GET", path="/records/{id}", nothing=lambda: None, statuses=(404,)),
    requests.History: Operation(method="GET", path="/records/{id}/history", field="changes", nothing=list),
    requests.Why: Operation(method="GET", path="/records/{id}/why", nothing=Provenance),
    requests.Inbox: Operation(method="GET", path="/inbox", field="proposals"),
    requests.Approve: Operation(
        path="/inbox/{id}/approve", right="admin", field="records", repeat=False, statuses=(404, 409)
    ),
    requests.Reject: Operation(path="/inbox/{id}/reject", right="admin", repeat=False, statuses=(404, 409)),
    requests.Tidy: Operation(path="/tidy"),
    requests.Archive: Operation(path="/archive", right="write", field="archived", statuses=(404, 409)),
    requests.Users: Operation(
        method="GET",
        path="/users",
        right="admin",
        field="users",
        everyone=True,
        encode=lambda found: [{"user": user, "count": count} for user, count in found.items()],
        decode=lambda found: {each["user"]: each["count"] for each in found},
    ),
    requests.Audit: Operation(method="GET", path="/audit", right="admin", field="entries"),
    requests.Checkpoint: Operation(method="GET", path="/audit/checkpoint", right="admin", everyone=True, operator=True),
    requests.Check: Operation(method="GET", path="/check", right="admin", field="faults", everyone=True, operator=True),
    requests.Retain: Operation(method="PUT", path="/retention", right="admin", field="rules", everyone=True),
    requests.Retention: Operation(path="/retention", right="admin", everyone=True),
    requests.Secrets: Operation(path="/secrets", right="admin", field="secrets", everyone=True),
    requests.Sweep: Operation(path="/sweep", right="admin", field="swept", everyone=True),
}
