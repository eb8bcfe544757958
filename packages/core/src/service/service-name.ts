/** Length of the uuid's part that distinguishes services with the same generated name. */
const SUFFIX_LENGTH = 10;

/** The name of a service that was created without one. @param type Its template; `null` for a compose file. */
export const generatedServiceName = (type: string | null, uuid: string): string =>
  type === null ? `service-${uuid.slice(0, SUFFIX_LENGTH)}` : `${type}-${uuid}`;
