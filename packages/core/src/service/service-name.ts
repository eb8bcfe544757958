/** Characters of the uuid that tell two services with generated names apart. */
const SUFFIX_LENGTH = 10;

/** The name of a service that was given none. @param type Of its template; `null` for a compose text. */
export const generatedServiceName = (type: string | null, uuid: string): string =>
  type === null ? `service-${uuid.slice(0, SUFFIX_LENGTH)}` : `${type}-${uuid}`;
