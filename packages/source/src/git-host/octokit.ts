// Imported lazily: without a GitHub app nothing needs it.
export { createAppAuth } from "@octokit/auth-app";
export { request } from "@octokit/request";
