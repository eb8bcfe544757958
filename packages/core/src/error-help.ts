import type { ErrorCode } from "./errors.ts";

/** Meaning and remedy of each code, in Markdown. `docs/errors.md` is generated from it. */
export const ERROR_HELP = {
  "request.malformed": "The body is not JSON, or is empty where one is required. `error` says which.",
  "request.invalid": "A field has an invalid value, or is unknown. `errors` names it and says what it must be.",
  "request.not_found": "No such path. The API's paths are at `/docs`.",
  "request.method_not_allowed": "A query of tRPC was posted, or a mutation was asked for by GET.",
  "request.too_large": "The body is larger than the operation takes.",
  "request.overloaded": "Too many large answers are being made at once. Try again after `Retry-After` seconds.",
  "answer.too_large":
    "tRPC answers lists of up to 16 MB. Ask for less with `take` and `skip`, or by REST, which has no limit.",
  "request.unsupported_media_type": "Send `Content-Type: application/json`; uploads of a folder are a tar archive.",
  "auth.unauthenticated": "No token, or one that was revoked or has expired. `berth tokens create` makes one.",
  "auth.missing_ability":
    "The token lacks the ability that the message names. No ability implies another, except `root`, which implies all.",
  "auth.missing_role": "Its user's role in the team may not do this. An administrator or owner may.",
  "auth.api_disabled": "Somebody switched the API off: `POST /enable` with a token of the root team.",
  "auth.root_team_only": "It concerns Berth's own machine: ask with a token of the root team.",
  "auth.sign_in_failed": "The email or the password is wrong. A new link replaces a lost password.",
  "auth.second_factor_required":
    "The password is right, and the user has a second factor: send the code of their authenticator app as `code`, too.",
  "auth.second_factor_failed":
    "The code is wrong, expired or used. Wait for the app's next one, check the clock of its device, or use a recovery code.",
  "auth.second_factor_missing":
    "The team or the instance requires a second factor. The user sets one up under Account; until then the session may do nothing else.",
  "auth.provider_failed":
    "The identity provider refused, or its answer could not be believed. The message says what to check.",
  "auth.provider_expired": "A sign-in at a provider works once, for ten minutes, in the browser that began it.",
  "auth.sign_up_refused":
    "The identity belongs to no user, and the provider's `sign_up` lets in nobody else. An invitation helps where it is `invited`.",
  "auth.link_invalid":
    "A sign-in link works once and for 24 hours. `berth login --web` or `berth user invite EMAIL` makes another one.",
  "auth.session_required": "It concerns a browser that somebody signed in with, and tokens are not that.",
  "auth.confirmation_required": "Secrets and dangerous acts need the password again: `POST /auth/confirm`.",
  "auth.foreign_page":
    "A page of another origin asked. Open the dashboard by its own address, or set `BERTH_PUBLIC_URL`.",
  "resource.not_found": "It does not exist, or belongs to another team.",
  "resource.already_exists": "Another object has this name or key.",
  "resource.in_use": "Something uses it. The message says what to remove or change first.",
  "resource.already_running": "It runs. Restart it, or for an application start it with `force`.",
  "resource.already_stopped": "It does not run.",
  "resource.not_running": "It has to run for this. Start it first.",
  "resource.state": "Its present state does not allow this, as the message says.",
  "private_key.in_use": "Servers, applications or GitHub apps use the key. Give them another one first.",
  "domain.conflict":
    "Another resource has the URL: `conflicts` names those of your team, and `force_domain_override` takes it over.",
  "port.taken": "Another public database of the server has the port. Choose another `public_port`.",
  "destination.ambiguous": "The server has several destinations. Choose one in `destination_uuid`.",
  "destination.missing": "The server has none. Make one: `POST /servers/{uuid}/destinations`.",
  "destination.in_use": "Resources are on it. Delete them first.",
  "queue.full": "As many deployments wait for the server as `deployment_queue_limit` allows.",
  "rate.limited": "The token has asked as often as it may in a minute (`BERTH_RATE_LIMIT`).",
  "deployment.not_cancellable": "It has ended.",
  "backup.not_cancellable": "The backup, restore or drill has ended, as the message says.",
  "engine.unsupported": "The server's engine cannot do this; databases, services and images need a server with Docker.",
  "engine.unreachable": "The server's engine does not answer. `berth server validate NAME` says why.",
  "engine.failed": "The engine refused what it should have done. The message has its words.",
  "server.unreachable": "The server does not answer. `berth server validate NAME` says why.",
  "source.not_found": "No such repository, branch or commit, or no upload yet.",
  "source.unauthorized": "The repository wants a login: a deploy key or GitHub app that may read it.",
  "source.unreachable": "The repository's host does not answer.",
  "source.invalid": "What was fetched or uploaded cannot be used, as the message says.",
  "git_host.refused": "GitHub refused the app's login, or its host may not be called.",
  "git_host.not_found": "GitHub does not know it, or the app does not see it.",
  "git_host.failed": "GitHub answered with something else than was asked for.",
  "github_app.in_use": "Applications are made from it.",
  "webhook.unsigned": "The webhook's signature does not fit the secret.",
  "deploy.cancelled": "Somebody cancelled it, or its resource is being deleted.",
  "deploy.build_failed": "The build failed. The log has what it printed.",
  "deploy.start_failed": "It could not be started, or ended at once. The previous release keeps running.",
  "deploy.unhealthy": "It did not become healthy in time. The previous release keeps running.",
  "deploy.command_failed": "A command before or after the deployment failed.",
  "deploy.interrupted": "Berth was stopped in the middle. Deploy again.",
  "deploy.timeout": "It took longer than the server's `dynamic_timeout`.",
  "cloud.refused": "The cloud provider or S3 storage refused, or its address may not be called.",
  "cloud.rate_limited": "The cloud provider was asked too often.",
  "cloud.failed": "The cloud provider or S3 storage did not do what was asked. The message has its words.",
  "database.unavailable": "Berth's own database does not answer. Try again; its operator finds the reason in the log.",
  "storage.full":
    "The disk of Berth's own database is full. Nothing was written. Free space in its folder, `BERTH_DATA`.",
  "setup.failed": "Something on the server could not be set up, such as its proxy: the message says what.",
  "internal.error": "A mistake in Berth. Report it with the `request_id`.",
} as const satisfies Record<ErrorCode, string>;
