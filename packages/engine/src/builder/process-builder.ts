import { DomainError, isDomainError } from "@berth/core";
import type { BuildRequest, FolderArtifact } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import type { BuildPlace, ProcessBuilder, ProcessBuilderOptions } from "./build-place.ts";

/** Builds on the machine itself: each step is a process of the application's user, in its release folder. */
export function processBuilder(options: ProcessBuilderOptions = {}): ProcessBuilder {
  return {
    async build(request: BuildRequest, io: WorkIO, where: BuildPlace): Promise<FolderArtifact> {
      try {
        // The rules of all languages, with their parsers, are loaded with the first build.
        const { build } = await import("./process-build.ts");
        return await build(request, io, where, options);
      } catch (error) {
        if (io.signal.aborted && !isDomainError(error, "deploy.cancelled")) {
          throw new DomainError("deploy.cancelled", "The build was cancelled.", { cause: error });
        }
        throw error;
      }
    },
  };
}
