import type { Labels } from "@berth/docker-client";
import type Docker from "dockerode";
import type { BuildPlace } from "../builder/build-place.ts";

export interface StackBuildPlace extends Omit<BuildPlace, "steps"> {
  readonly docker: Docker;
  /** A folder on Berth's machine for this build alone. Nobody else may read it. */
  readonly jobFolder: string;
  /** Labels of every built image. */
  readonly labels: Labels;
}
