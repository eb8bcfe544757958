import type { BuildConfig } from "../deploy/artifact.ts";

/** An application that says nothing about its build. */
export const BUILD_CONFIG: BuildConfig = {
  build_pack: "nixpacks",
  base_directory: "/",
  publish_directory: null,
  install_command: null,
  build_command: null,
  start_command: null,
  is_static: false,
  is_spa: false,
  dockerfile: null,
  dockerfile_location: null,
  dockerfile_target_build: null,
  docker_registry_image_name: null,
  docker_registry_image_tag: null,
  static_image: "nginx:alpine",
  custom_nginx_configuration: null,
  ports_exposes: null,
};
