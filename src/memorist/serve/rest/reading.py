"""Routes that take a filter: recall, recent, browse, count, changes, forget; the inbox; and the users of a tenant."""

from fastapi.responses import JSONResponse

from memorist.operations import requests
from memorist.serve.rest import models
from memorist.serve.rest.access import Writer
from memorist.serve.rest.bodies import Body, asked
from memorist.serve.rest.plain import add_plain
from memorist.serve.rest.records import forgotten
from memorist.serve.rest.routing import router_of, takes

router = router_of("search")

add_plain(
    router, requests.Recall, requests.Context, requests.Recent, requests.Browse, requests.Count, requests.Traces,
    requests.Changes, requests.Find, requests.Vectors, requests.Derived, requests.Users,
    requests.Inbox, requests.Keep, requests.Drop,
)  # fmt: skip


@router.post("/forget", response_model=models.answer_to(requests.Forget), **takes(requests.Forget, 202, 409))
async def forget(access: Writer, body: Body) -> JSONResponse:
    """Delete the records named that pass the filter, or all that pass it; superseded ones too."""
    return await forgotten(access, await asked(requests.Forget, body), body)
