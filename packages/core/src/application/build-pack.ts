export const BUILD_PACKS = ["nixpacks", "railpack", "static", "dockerfile", "dockercompose", "dockerimage"] as const;
export type BuildPack = (typeof BUILD_PACKS)[number];

const IMAGE_PACKS: readonly unknown[] = ["dockerfile", "dockercompose", "dockerimage"] satisfies BuildPack[];

/** Whether its result is an image, which only engines with containers run. */
export const buildsImage = (buildPack: unknown): boolean => IMAGE_PACKS.includes(buildPack);
