export * from "./answer-check.ts";
export * from "./bucket.ts";
export * from "./canaries.ts";
export * from "./certificate.ts";
export * from "./chromium.ts";
export * from "./cloud-server.ts";
export * from "./cluster.ts";
export { contents, emptyTables } from "./contents.ts";
export * from "./cut-suite.ts";
export * from "./database.ts";
export * from "./database-client.ts";
export * from "./database-records.ts";
export * from "./digitalocean-server.ts";
export { type DockerFixture, describeDocker, describeLargeDocker, dockerFixture, dockerObjects } from "./docker.ts";
export { type ExecResult, type TestContainer, testContainer } from "./docker-container.ts";
export { dockerAvailable, dockerProblem, TEST_DOCKER_SOCKET, testDockerClient } from "./docker-engine.ts";
export { removeLabelled, TEST_LABEL, testInstance, testLabels } from "./docker-leftovers.ts";
export { assertTook, took } from "./duration.ts";
export * from "./eventually.ts";
export * from "./git-host.ts";
export * from "./git-repository.ts";
export * from "./git-server.ts";
export * from "./git-ssh-server.ts";
export * from "./github-server.ts";
export * from "./hetzner-server.ts";
export * from "./hostile-repository.ts";
export * from "./hostile-values.ts";
export * from "./identity-server.ts";
export * from "./key-reader.ts";
export { describeLarge, describeUnless } from "./large-suite.ts";
export { lateReason } from "./late.ts";
export * from "./log-drain-server.ts";
export { type MailServer, mailServer, type ReceivedMail } from "./mail-server.ts";
export {
  NOTIFICATION_LOGIN,
  type NotificationFault,
  type NotificationServer,
  notificationServer,
  type ReceivedNotification,
} from "./notification-server.ts";
export * from "./passkey-device.ts";
export * from "./password.ts";
export { withClient } from "./postgres-server.ts";
export * from "./printing-engine.ts";
export * from "./records.ts";
export * from "./refusing-cloud.ts";
export * from "./refusing-providers.ts";
export * from "./registry.ts";
export * from "./relay.ts";
export * from "./resource.ts";
export * from "./s3-server.ts";
export { testExecutions } from "./scheduled-task.ts";
export * from "./server-container.ts";
export { copyDatabase } from "./server-data-setup.ts";
export * from "./service-templates.ts";
export * from "./sites.ts";
export * from "./swarm.ts";
export { until } from "./until.ts";
export * from "./webhook/delivery.ts";
export type { TestEvent, TestPullRequest, TestPush } from "./webhook/facts.ts";
