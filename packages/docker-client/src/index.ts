export { DOCKER_SOCKET, dockerClient, dockerVersion, engineError, isAway } from "./client.ts";
export { type Frame, readFrames } from "./frames.ts";
export { jsonLines } from "./json-lines.ts";
export {
  COMPOSE_NUMBER,
  FILES_ROLE,
  LABELS,
  type Labels,
  labelFilter,
  labelOf,
  ownedLabels,
  RELEASE_ROLE,
  type ReleaseRole,
  refOf,
  releaseFilter,
  releaseLabels,
  TASK_ROLE,
  uninherited,
} from "./labels.ts";
export {
  builtBy,
  containerImageName,
  type ImageRef,
  imageName,
  imageRepository,
  isImageOf,
  isOwnName,
  refIn,
} from "./names.ts";
export { followProgress, inspectImage, pullFailure, pullImage, wantedImage } from "./pull.ts";
export { dockerConfig, type LoginSources, pluginFolders, type RegistryLogins, readLogins } from "./registry-auth.ts";
export { ReportedFailure, reasonOf, statusCodeOf } from "./status.ts";
export { pullOwnImage } from "./take-image.ts";
