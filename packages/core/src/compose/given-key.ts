/**
 * Whether Berth knows the value of a variable when it starts a release: a compose file that names it does not make it a
 * variable of its service. In the file, an address is that of the whole resource; in a container, that container's own.
 */
export const isGiven = (key: string): boolean =>
  /^(BERTH|COOLIFY)_(RESOURCE_UUID|APP_NAME|PROJECT_NAME|ENVIRONMENT_NAME|SERVER_IP|FQDN|URL|BRANCH)$/.test(key);
