"""The page and what it asks for, as an application of Starlette's."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import metadata, resources
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from cdckit.errors import CdcError, ConfigError
from cdckit.ui.access import Access
from cdckit.ui.actions import ACTIONS, act
from cdckit.ui.fleet import Fleet, quarantine_of, row
from cdckit.ui.kept import page_of, whole
from cdckit.ui.live import Live

_LONGEST_BODY = 100_000
_REFUSED_SECONDS = 0.5
"""How long a wrong token waits for its answer."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_VENDORED = {"uPlot.iife.min.js": "text/javascript", "uPlot.min.css": "text/css"}

Handler = Callable[[Request], Awaitable[Response]]


class Page:
    """Answers requests.

    Args:
        fleet: what is shown.
        access: who may look and act.
        secure: whether it is served over TLS.
    """

    def __init__(self, fleet: Fleet, access: Access, *, secure: bool = False) -> None:
        self.live = Live(fleet)
        self._access = access
        self._secure = secure
        self._acting: set[str] = set()

    def application(self) -> Starlette:
        """What a server serves."""
        return Starlette(
            routes=[
                Route("/", self._guarded(self._page, self._login_page)),
                Route("/login", self._login, methods=["POST"]),
                Route("/vendor/{name}", self._guarded(self._vendor)),
                Route("/api/session", self._guarded(self._session)),
                Route("/api/fleet", self._guarded(self._fleet)),
                Route("/api/events", self._guarded(self._events)),
                Route("/api/pipelines/{id}", self._guarded(self._pipeline)),
                Route("/api/pipelines/{id}/quarantine", self._guarded(self._quarantine)),
                Route("/api/pipelines/{id}/quarantine/{number:int}", self._guarded(self._kept)),
                Route("/api/pipelines/{id}/actions/{action}", self._guarded(self._act), methods=["POST"]),
            ]
        )

    def _guarded(self, answer: Handler, otherwise: Handler | None = None) -> Handler:
        """Answers those who may ask, and nobody else."""

        async def answered(request: Request) -> Response:
            if not self._access.is_meant(request.headers):
                return _refusal(421, "this server goes by another name")
            if not self._access.admits(request.headers, request.cookies.get(self._access.cookie, "")):
                return await otherwise(request) if otherwise is not None else _refusal(401, "the token is needed")
            response = await answer(request)
            response.headers.update(_HEADERS)
            return response

        return answered

    # -- the page itself

    async def _page(self, request: Request) -> Response:
        return _html("page.html", json.dumps(self._told()).replace("<", "\\u003c"))

    async def _session(self, request: Request) -> Response:
        return JSONResponse(self._told())

    def _told(self) -> dict[str, Any]:
        """What the page is told of itself."""
        session = {"acts": self._access.acts, "actions": dict(ACTIONS), "version": metadata.version("cdckit")}
        return {**session, "seal": self._access.seal} if self._access.acts else session

    async def _login_page(self, request: Request) -> Response:
        response = _html("login.html", "")
        response.status_code = 401
        response.headers.update(_HEADERS)
        return response

    async def _login(self, request: Request) -> Response:
        body = await _body(request)
        given = parse_qs(body.decode(errors="replace")).get("token", [""])[0]
        if not self._access.is_token(given.strip()):
            await asyncio.sleep(_REFUSED_SECONDS)
            response = await self._login_page(request)
            response.status_code = 403
            return response
        answer = RedirectResponse("/", 303, headers=_HEADERS)
        answer.set_cookie(
            self._access.cookie, self._access.session, httponly=True, samesite="strict", secure=self._secure
        )
        return answer

    async def _vendor(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _VENDORED:
            return _refusal(404, "there is no such file")
        return Response(_file(f"vendor/{name}"), media_type=_VENDORED[name])

    # -- what it shows

    async def _fleet(self, request: Request) -> Response:
        return JSONResponse([row(member) for member in await self.live.members()])

    async def _events(self, request: Request) -> Response:
        if self.live.full:
            return _refusal(503, "too many pages are open")
        events = self.live.stream(request.query_params.get("pipeline"))
        return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def _pipeline(self, request: Request) -> Response:
        found = await self.live.details(request.path_params["id"])
        return JSONResponse(found) if found is not None else _refusal(404, "there is no such pipeline")

    async def _quarantine(self, request: Request) -> Response:
        folder = await self._quarantine_folder(request)
        before = request.query_params.get("before", "")
        if folder is None:
            return _refusal(404, "there is no such pipeline")
        return await _told(page_of, folder, int(before) if before.isdecimal() else None)

    async def _kept(self, request: Request) -> Response:
        folder = await self._quarantine_folder(request)
        if folder is None:
            return _refusal(404, "there is no such pipeline")
        return await _told(whole, folder, request.path_params["number"])

    async def _quarantine_folder(self, request: Request) -> Any:
        member = await self.live.member(request.path_params["id"])
        if member is None:
            return None
        return quarantine_of(member.folder, member.status.run if member.status is not None else None)

    # -- what it can have done

    async def _act(self, request: Request) -> Response:
        if not self._access.acts_for(request.headers):
            why = "the page itself must ask" if self._access.acts else "actions need --allow-actions"
            return _refusal(403, why)
        member = await self.live.member(request.path_params["id"])
        if member is None:
            return _refusal(404, "there is no such pipeline")
        if member.id in self._acting:
            return _refusal(409, "another action on this pipeline is not done yet")
        try:
            asked = json.loads(await _body(request) or b"{}")
        except ValueError as error:
            return _refusal(400, f"what is asked is no JSON: {error}")
        if not isinstance(asked, dict):
            return _refusal(400, "what is asked should be a JSON object")
        self._acting.add(member.id)
        try:
            return JSONResponse({"said": await asyncio.to_thread(act, member, request.path_params["action"], asked)})
        except ConfigError as error:
            return _refusal(400, str(error))
        except CdcError as error:
            return _refusal(500, str(error))
        finally:
            self._acting.discard(member.id)


async def _body(request: Request) -> bytes:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LONGEST_BODY:
            return b""
    return body


async def _told(look: Callable[..., Any], *arguments: Any) -> Response:
    """What a look at files gives, or why it cannot."""
    try:
        found = await asyncio.to_thread(look, *arguments)
    except CdcError as error:
        return _refusal(500, str(error))
    return JSONResponse(found) if found is not None else _refusal(404, "there is no such record")


def _refusal(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status, headers=_HEADERS)


def _html(name: str, session: str) -> Response:
    """A page, whose script and style alone may be run and shown."""
    nonce = secrets.token_urlsafe(16)
    text = _file(name).decode().replace("{{nonce}}", nonce).replace("{{session}}", session)
    policy = (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})


@cache
def _file(name: str) -> bytes:
    return (resources.files("cdckit.ui") / name).read_bytes()
