export const BUILD_PACKS = ["nixpacks", "railpack", "static", "dockerfile", "dockercompose", "dockerimage"] as const;
export type BuildPack = (typeof BUILD_PACKS)[number];
