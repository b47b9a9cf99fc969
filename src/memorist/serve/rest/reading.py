"""Routes that take a filter: recall, recent, browse, count, forget; and the users of a tenant."""

from fastapi.responses import JSONResponse

from memorist import requests
from memorist.serve.rest import models
from memorist.serve.rest.access import Admin, Reader, Writer
from memorist.serve.rest.bodies import Body, answered, asked
from memorist.serve.rest.problems import problems
from memorist.serve.rest.records import forgotten, page_answer, records_answer
from memorist.serve.rest.routing import router_of, takes

router = router_of("search")


@router.post("/recall", response_model=models.Hits, **takes(requests.Recall))
async def recall(access: Reader, body: Body) -> JSONResponse:
    """Find the records that matter to a query, by meaning and by words; best first."""
    hits = await access.ask(await asked(requests.Recall, body))
    return await answered(lambda: {"hits": [hit.to_dict() for hit in hits]}, hits)


@router.post("/context", response_model=models.ContextAnswer, **takes(requests.Context))
async def context(access: Reader, body: Body) -> JSONResponse:
    """Return what to put into an agent's prompt for a question, within a budget of tokens."""
    told = await access.ask(await asked(requests.Context, body))
    return await answered(told.to_dict, told.items, told.text)


@router.post("/recent", response_model=models.Records, **takes(requests.Recent))
async def recent(access: Reader, body: Body) -> JSONResponse:
    """Return the newest records by when they happened (or were stored), newest first."""
    return await records_answer(await access.ask(await asked(requests.Recent, body)))


@router.post("/browse", response_model=models.PageBody, **takes(requests.Browse))
async def browse(access: Reader, body: Body) -> JSONResponse:
    """Return one page of the records that pass the filter."""
    return await page_answer(await access.ask(await asked(requests.Browse, body)))


@router.post("/count", response_model=models.Count, **takes(requests.Count))
async def count(access: Reader, body: Body) -> JSONResponse:
    """Return how many records pass the filter."""
    return JSONResponse({"count": await access.ask(await asked(requests.Count, body))})


@router.post("/traces", response_model=models.TracesBody, **takes(requests.Traces))
async def traces(access: Reader, body: Body) -> JSONResponse:
    """Return one page of the traces of calls of recall and context, newest first, where the server keeps them."""
    page = await access.ask(await asked(requests.Traces, body))
    return await answered(lambda: {"traces": [each.to_dict() for each in page.traces], "next": page.next}, page.traces)


@router.post("/find", response_model=models.Records, **takes(requests.Find))
async def find(access: Reader, body: Body) -> JSONResponse:
    """Return the records with these ids, superseded or not. Unknown ids are ignored."""
    return await records_answer(await access.ask(await asked(requests.Find, body)))


@router.post("/vectors", response_model=models.EmbeddingsBody, **takes(requests.Vectors))
async def vectors(access: Reader, body: Body) -> JSONResponse:
    """Return the stored embeddings of records by id."""
    found = await access.ask(await asked(requests.Vectors, body))
    return await answered(lambda: {"vectors": {id: vector.tolist() for id, vector in found.items()}}, found)


@router.post("/derived", response_model=models.DerivedBody, **takes(requests.Derived))
async def derived(access: Reader, body: Body) -> JSONResponse:
    """Return what was derived from the records named, or from all that pass the filter."""
    found = await access.ask(await asked(requests.Derived, body))
    return await answered(found.to_dict, found.alone, found.partly)


@router.post("/forget", response_model=models.Forgotten, **takes(requests.Forget, 409))
async def forget(access: Writer, body: Body) -> JSONResponse:
    """Delete the records named that pass the filter, or all that pass it; superseded ones too."""
    return await forgotten(access, await asked(requests.Forget, body), body)


@router.get("/users", response_model=models.Users, responses=problems())
async def users(access: Admin) -> JSONResponse:
    """Return how many records each user of the tenant has; null stands for the shared ones."""
    found = await access.memory.users()
    return JSONResponse({"users": [{"user": user, "count": count} for user, count in found.items()]})
