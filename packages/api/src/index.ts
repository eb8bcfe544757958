export { type Admission, type AdmissionOptions, admission } from "./admission.ts";
export { asDomainError, type Problem, type ProblemBody, problemOf, statusOf } from "./errors.ts";
export { type Description, describe, jsonOf, yamlOf } from "./openapi.ts";
export { type RestOptions, restPlugin } from "./rest/plugin.ts";
export { serverOptions } from "./rest/server-options.ts";
export { type AppRouter, appRouter } from "./root.ts";
export type { Control } from "./trpc.ts";
export { type TrpcOptions, trpcPlugin } from "./trpc-plugin.ts";
export { type WebhookOptions, webhookPlugin } from "./webhook/plugin.ts";
