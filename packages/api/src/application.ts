import type { ErrorCode } from "@berth/core";
import {
  Application,
  ApplicationCreateCompose,
  ApplicationCreateDeployKey,
  ApplicationCreateDockerfile,
  ApplicationCreateGithubApp,
  ApplicationCreateImage,
  ApplicationCreatePublic,
  ApplicationCreateUpload,
  ApplicationUpdate,
  ChangedApplication,
  CreatedApplication,
  UploadedSource,
} from "@berth/core/application";
import { z } from "zod";
import { applicationDestinations } from "./application-destination.ts";
import { attachments } from "./attachment.ts";
import { creation } from "./creation.ts";
import { domainChecks } from "./domain-check.ts";
import { envs } from "./env.ts";
import { lifecycle } from "./lifecycle.ts";
import { listed, paging } from "./list.ts";
import { logs } from "./log.ts";
import { metrics } from "./metric.ts";
import { migrate, moves } from "./move.ts";
import { operation } from "./operation.ts";
import { OPERATOR } from "./operation-options.ts";
import { previews } from "./preview.ts";
import { containers } from "./running-container.ts";
import { scheduledTasks } from "./scheduled-task.ts";
import { storages } from "./storage.ts";
import { resourceTags } from "./tag.ts";

const uuid = z.string().describe("The application's identifier.");

const CREATE = {
  ...creation,
  tag: "Applications",
  extras: [OPERATOR.powers],
  errors: [...creation.errors, "resource.already_exists", "domain.conflict", "queue.full"] satisfies ErrorCode[],
} as const;

const DEPLOYS_AT_ONCE =
  "With `instant_deploy` its first deployment is queued too; if the queue is full, nothing is created.";

export const applications = {
  attachments: attachments.application,
  envs: envs.application,
  containers: containers.application,
  domainChecks,
  logs: logs.application,
  metrics: metrics.application,
  storages: storages.application,
  scheduledTasks: scheduledTasks.application,
  tags: resourceTags.application,
  previews,
  ...lifecycle.application,
  ...moves.application,
  migrate,
  destinations: applicationDestinations,

  list: operation({
    method: "GET",
    path: "/applications",
    operationId: "list-applications",
    tag: "Applications",
    summary: "List applications",
    ability: "read",
  })
    .input(z.strictObject({ tag: z.string().max(255).optional().describe("Only those with this tag."), ...paging }))
    .output(z.array(Application))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.applications.list(input), input)]),

  createPublic: operation({
    ...CREATE,
    path: "/applications/public",
    operationId: "create-public-application",
    summary: "Create an application from a public git repository",
    description: `${DEPLOYS_AT_ONCE} With \`git_branch\` \`HEAD\` the repository is asked for its default branch first.`,
    errors: [...CREATE.errors, "source.unreachable"],
    extras: [OPERATOR.powers, OPERATOR.folder],
  })
    .input(ApplicationCreatePublic)
    .output(CreatedApplication)
    .mutation(({ ctx, input }) => ctx.control.applications.createPublic(input)),

  createDeployKey: operation({
    ...CREATE,
    path: "/applications/private-deploy-key",
    operationId: "create-private-deploy-key-application",
    summary: "Create an application from a private git repository, with a key",
    description: `${DEPLOYS_AT_ONCE} An https address is read with the key's name and password; if the key has none, the repository is read over ssh from the same host.`,
    extras: [OPERATOR.powers, OPERATOR.folder],
  })
    .input(ApplicationCreateDeployKey)
    .output(CreatedApplication)
    .mutation(({ ctx, input }) => ctx.control.applications.createDeployKey(input)),

  createGithubApp: operation({
    ...CREATE,
    path: "/applications/private-github-app",
    operationId: "create-private-github-app-application",
    summary: "Create an application from a repository that a GitHub app may read",
    description: `${DEPLOYS_AT_ONCE} GitHub is asked first whether the app may read the repository.`,
    errors: [...CREATE.errors, "git_host.refused", "git_host.not_found", "git_host.failed", "rate.limited"],
  })
    .input(ApplicationCreateGithubApp)
    .output(CreatedApplication)
    .mutation(({ ctx, input }) => ctx.control.applications.createGithubApp(input)),

  createDockerfile: operation({
    ...CREATE,
    path: "/applications/dockerfile",
    operationId: "create-dockerfile-application",
    summary: "Create an application from a Dockerfile",
    description: DEPLOYS_AT_ONCE,
  })
    .input(ApplicationCreateDockerfile)
    .output(CreatedApplication)
    .mutation(({ ctx, input }) => ctx.control.applications.createDockerfile(input)),

  createImage: operation({
    ...CREATE,
    path: "/applications/dockerimage",
    operationId: "create-dockerimage-application",
    summary: "Create an application from an image",
    description: `${DEPLOYS_AT_ONCE} Without a tag, the tag is latest.`,
  })
    .input(ApplicationCreateImage)
    .output(CreatedApplication)
    .mutation(({ ctx, input }) => ctx.control.applications.createImage(input)),

  createCompose: operation({
    ...CREATE,
    path: "/applications/dockercompose",
    operationId: "create-dockercompose-application",
    summary: "Create a service from a compose file",
    description: "Use `POST /services`, which creates the same service and returns the URLs of its containers.",
    deprecated: true,
  })
    .input(ApplicationCreateCompose)
    .output(CreatedApplication)
    .mutation(({ ctx, input }) => ctx.control.applications.createCompose(input)),

  createUpload: operation({
    ...CREATE,
    path: "/applications/upload",
    operationId: "create-upload-application",
    summary: "Create an application whose source is uploaded",
    description: "Then upload its folder with `PUT /applications/{uuid}/source` and deploy it.",
  })
    .input(ApplicationCreateUpload)
    .output(CreatedApplication)
    .mutation(({ ctx, input }) => ctx.control.applications.createUpload(input)),

  uploadSource: operation({
    method: "PUT",
    path: "/applications/{uuid}/source",
    operationId: "upload-source-by-application-uuid",
    tag: "Applications",
    summary: "Upload an application's source",
    description:
      "A tar archive of the folder, plain or with gzip. The next deployment builds it. Example: `tar -cz . | curl -T - -H 'Content-Type: application/gzip' -H 'Authorization: Bearer TOKEN' URL`.",
    ability: "write",
    upload: {
      contentTypes: ["application/gzip", "application/x-gzip", "application/x-tar", "application/octet-stream"],
      description: "Tar archive of the folder, plain or with gzip.",
    },
    errors: ["source.invalid", "request.too_large", "resource.state"],
  })
    .input(z.strictObject({ uuid }))
    .output(UploadedSource)
    .mutation(({ ctx, input }) => ctx.control.applications.uploadSource(input.uuid, ctx.upload)),

  get: operation({
    method: "GET",
    path: "/applications/{uuid}",
    operationId: "get-application-by-uuid",
    tag: "Applications",
    summary: "Get an application",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(Application)
    .query(({ ctx, input }) => ctx.control.applications.get(input.uuid)),

  update: operation({
    method: "PATCH",
    path: "/applications/{uuid}",
    operationId: "update-application-by-uuid",
    tag: "Applications",
    summary: "Change an application",
    description:
      "What is not sent stays; null gives a setting its default. URLs, redirects, basic authentication and the other " +
      "settings of the proxy take effect within a second, what shapes a release with the next deployment. With " +
      "`instant_deploy` that is queued too; when the queue is full, nothing is changed.",
    ability: "write",
    extras: [OPERATOR.powers, OPERATOR.folder],
    errors: ["resource.already_exists", "domain.conflict", "engine.unsupported", "cluster.no_leader", "queue.full"],
  })
    .input(ApplicationUpdate.extend({ uuid }))
    .output(ChangedApplication)
    .mutation(({ ctx, input: { uuid, ...change } }) => ctx.control.applications.update(uuid, change)),
};
