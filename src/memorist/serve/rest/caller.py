"""The route that tells a caller what it may do."""

from fastapi.responses import JSONResponse

from memorist.serve.rest import models
from memorist.serve.rest.access import Reader
from memorist.serve.rest.problems import problems
from memorist.serve.rest.routing import router_of

router = router_of("server")


@router.get("/caller", response_model=models.Caller, responses=problems())
async def caller(access: Reader) -> JSONResponse:
    """Return what the token allows."""
    grant = access.grant
    return JSONResponse({"name": grant.name, "tenant": grant.tenant, "user": grant.user, "right": str(grant.right)})
