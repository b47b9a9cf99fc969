"""Routes that take a filter: recall, recent, browse, count, forget; and the users of a tenant."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from memorist.serve.rest import models
from memorist.serve.rest.access import Admin, Reader, Writer
from memorist.serve.rest.idempotency import Outcome
from memorist.serve.rest.problems import BODY, problems
from memorist.serve.rest.records import check_everyone, page_answer, records_answer
from memorist.serve.rest.routing import StrictRoute

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["search"])


@router.post("/recall", response_model=models.Hits, responses=BODY)
async def recall(access: Reader, body: models.RecallBody) -> JSONResponse:
    """Find the records that matter to a query, by meaning and by words; best first."""
    hits = await access.memory.recall(**body.given())
    return JSONResponse({"hits": [hit.to_dict() for hit in hits]})


@router.post("/context", response_model=models.ContextAnswer, responses=BODY)
async def context(access: Reader, body: models.ContextBody) -> JSONResponse:
    """Return what to put into an agent's prompt for a question, within a budget of tokens."""
    told = await access.memory.context(**body.given())
    return JSONResponse(told.to_dict())


@router.post("/recent", response_model=models.Records, responses=BODY)
async def recent(access: Reader, body: models.RecentBody) -> JSONResponse:
    """Return the newest records by when they happened (or were stored), newest first."""
    return records_answer(await access.memory.recent(**body.given()))


@router.post("/browse", response_model=models.PageBody, responses=BODY)
async def browse(access: Reader, body: models.BrowseBody) -> JSONResponse:
    """Return one page of the records that pass the filter."""
    check_everyone(access, body.everyone)
    return page_answer(await access.memory.browse(**body.given()))


@router.post("/count", response_model=models.Count, responses=BODY)
async def count(access: Reader, body: models.CountBody) -> JSONResponse:
    """Return how many records pass the filter."""
    check_everyone(access, body.everyone)
    return JSONResponse({"count": await access.memory.count(**body.given())})


@router.post("/find", response_model=models.Records, responses=BODY)
async def find(access: Reader, body: models.FindBody) -> JSONResponse:
    """Return the records with these ids, superseded or not. Unknown ids are ignored."""
    check_everyone(access, body.everyone)
    return records_answer(await access.memory.find(body.ids, everyone=body.everyone))


@router.post("/vectors", response_model=models.EmbeddingsBody, responses=BODY)
async def vectors(access: Reader, body: models.VectorsBody) -> JSONResponse:
    """Return the stored embeddings of records by id."""
    found = await access.memory.vectors(body.ids)
    return JSONResponse({"vectors": {id: vector.tolist() for id, vector in found.items()}})


@router.post("/forget", response_model=models.Forgotten, responses={**BODY, **problems(409)})
async def forget(access: Writer, body: models.ForgetBody) -> JSONResponse:
    """Delete the records named that pass the filter, or all that pass it; superseded ones too."""
    fields = body.given()
    ids = fields.pop("ids", [])

    async def work() -> Outcome:
        return {"forgotten": await access.memory.forget(*ids, **fields)}

    outcome, _ = await access.once(("forget", ids, fields), work)
    return JSONResponse(outcome)


@router.get("/users", response_model=models.Users, responses=problems())
async def users(access: Admin) -> JSONResponse:
    """Return how many records each user of the tenant has; null stands for the shared ones."""
    found = await access.memory.users()
    return JSONResponse({"users": [{"user": user, "count": count} for user, count in found.items()]})
