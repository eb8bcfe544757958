/**
 * Whether a variable has one value for all containers of a release, which Berth knows when it starts them. A compose
 * file that names it does not make it a variable of its service.
 */
export const isGiven = (key: string): boolean =>
  /^(BERTH|COOLIFY)_(RESOURCE_UUID|APP_NAME|PROJECT_NAME|ENVIRONMENT_NAME|SERVER_IP)$/.test(key);
