import type { ErrorCode } from "./errors.ts";

/** Meaning and remedy of each code, in Markdown. `docs/errors.md` is generated from it. */
export const ERROR_HELP = {
  "request.malformed": "The body is not JSON, or is empty where one is required. `error` says which.",
  "request.invalid": "A field has an invalid value, or is unknown. `errors` names it and says what it must be.",
  "request.not_found": "No such path. The API's paths are at `/docs`.",
  "request.method_not_allowed": "A tRPC query was sent by POST, or a mutation by GET.",
  "request.too_large": "The body is larger than the operation accepts.",
  "request.overloaded": "Too many large answers are being created at once. Try again after `Retry-After` seconds.",
  "answer.too_large":
    "By REST lists have no limit; by tRPC they have 16 MB. What is answered as one object, such as an environment with its resources, may need 8 MB of stored data. Ask for less with `take` and `skip`, or for the lists of its parts.",
  "request.unsupported_media_type": "Send `Content-Type: application/json`; uploads of a folder are a tar archive.",
  "auth.unauthenticated": "No token, or one that was revoked or has expired. `berth tokens create` makes one.",
  "auth.missing_ability":
    "The token lacks the ability that the message names. No ability implies another, except `root`, which implies all.",
  "auth.missing_role": "Its user's role in the team may not do this. An administrator or owner may.",
  "auth.api_disabled": "The API is switched off. Switch it on with `POST /enable` and a token of the root team.",
  "auth.root_team_only": "The request concerns Berth's own machine: use a token of the root team.",
  "auth.sign_in_failed": "The email or the password is wrong. A new link replaces a lost password.",
  "auth.second_factor_required":
    "The password is right, and the user has a second factor: send the code of their authenticator app as `code`, too.",
  "auth.second_factor_failed":
    "The code is wrong, expired or used. Wait for the app's next one, check the clock of its device, or use a recovery code.",
  "auth.second_factor_missing":
    "The team or the instance requires a second factor. The user sets up an authenticator app or a passkey under Account; until then the session may do nothing else.",
  "auth.passkey_failed":
    "The passkey is unknown or was removed, was made at another address of the dashboard, or took longer than five minutes. The password still signs in.",
  "auth.provider_failed":
    "The identity provider refused, or its answer could not be believed. The message says what to check.",
  "auth.provider_expired": "A sign-in at a provider works once, for ten minutes, in the browser that began it.",
  "auth.sign_up_refused":
    "The identity belongs to no user, and the provider's `sign_up` lets in nobody else. An invitation helps where it is `invited`.",
  "auth.link_invalid":
    "A sign-in link works once and for 24 hours. `berth login --web` or `berth user invite EMAIL` makes another one.",
  "auth.session_required": "Only browser sessions can use this operation, not tokens.",
  "auth.confirmation_required":
    "Secrets and dangerous acts need the password or a passkey again: `POST /auth/confirm`, `POST /auth/passkeys/confirm`.",
  "auth.foreign_page":
    "A page of another origin asked. Open the dashboard by its own address, or set `BERTH_PUBLIC_URL`.",
  "resource.not_found": "The object does not exist, or belongs to another team.",
  "resource.already_exists": "Another object has this name or key.",
  "resource.in_use": "Another object uses it. The message says what to remove or change first.",
  "resource.already_running": "The resource is already running. Restart it, or start an application with `force`.",
  "resource.already_stopped": "The resource is already stopped.",
  "resource.not_running": "The resource must be running. Start it first.",
  "resource.state": "The object's state does not allow this, as the message says.",
  "private_key.in_use": "Servers, applications or GitHub apps use the key. Give them another one first.",
  "domain.conflict":
    "Another resource has the URL: `conflicts` names those of your team, and `force_domain_override` takes it over.",
  "port.taken": "Another public database of the server has the port. Choose another `public_port`.",
  "destination.ambiguous": "The server has several destinations. Choose one in `destination_uuid`.",
  "destination.missing": "The server has no destination. Create one: `POST /servers/{uuid}/destinations`.",
  "destination.in_use": "Resources use the destination. Delete them first.",
  "destination.refused":
    "The application has this destination, or another one of the same server, or it is its primary one. The message says which.",
  "queue.full": "The server's `deployment_queue_limit` is reached. Wait until deployments have ended.",
  "rate.limited": "The limit of requests per minute (`BERTH_RATE_LIMIT`) is reached.",
  "deployment.not_cancellable": "The deployment has already ended.",
  "backup.not_cancellable": "The backup, restore or drill has ended, as the message says.",
  "engine.unsupported": "The server's engine cannot do this; databases, services and images need a server with Docker.",
  "engine.unreachable": "The server's engine does not answer. `berth server validate NAME` says why.",
  "engine.failed": "The engine refused the operation. The message contains its error.",
  "cluster.no_leader":
    "Half of the managers of a Docker Swarm or more do not answer, or they are choosing a leader. The message says what to do if it lasts.",
  "server.unreachable": "The server does not answer. `berth server validate NAME` says why.",
  "source.not_found": "No such repository, branch or commit, or no upload yet.",
  "source.unauthorized": "The repository needs a login: a deploy key or a GitHub app that may read it.",
  "source.unreachable": "The repository's host does not answer.",
  "source.invalid": "The fetched or uploaded source cannot be used, as the message says.",
  "git_host.refused": "GitHub refused the app's login, or its host may not be called.",
  "git_host.not_found": "It does not exist at GitHub, or the app has no access to it.",
  "git_host.failed": "GitHub's answer could not be understood.",
  "github_app.in_use": "Applications use the GitHub app as their source.",
  "webhook.unsigned": "The webhook's signature does not match the secret.",
  "deploy.cancelled": "Somebody cancelled the deployment, or its resource is being deleted.",
  "deploy.build_failed": "The build failed. The log contains its output.",
  "deploy.unrecognised":
    "No rule says how to start the source. The message lists its files and the settings that help.",
  "deploy.start_failed": "The release could not be started, or exited at once. The previous release keeps running.",
  "deploy.unhealthy": "The release did not become healthy in time. The previous release keeps running.",
  "deploy.command_failed": "A command before or after the deployment failed.",
  "deploy.interrupted": "Berth was stopped during the deployment. Deploy again.",
  "deploy.timeout": "The deployment took longer than the server's `dynamic_timeout`.",
  "cloud.refused": "The cloud provider or S3 storage refused, or its address may not be called.",
  "cloud.rate_limited": "The cloud provider's rate limit is reached.",
  "cloud.failed": "The request to the cloud provider or S3 storage failed. The message contains its error.",
  "notification.refused":
    "The receiver of a test notification refused it, and would again. Check the channel's settings: the message says why.",
  "notification.unreachable":
    "The receiver of a test notification did not answer, or asked to be called later. Check its address, and try again.",
  "database.unavailable": "Berth's own database does not answer. Try again; its operator finds the reason in the log.",
  "storage.full":
    "The disk of Berth's own database is full. Nothing was written. Free space in its folder, `BERTH_DATA`.",
  "setup.failed": "Something on the server could not be set up, such as its proxy: the message says what.",
  "internal.error": "A bug in Berth. Report it with the `request_id`.",
} as const satisfies Record<ErrorCode, string>;
