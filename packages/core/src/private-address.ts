/** What helps where an address is refused because it is private. */
export const PRIVATE_ADDRESS_REMEDY =
  "Ask its operator to allow the host with BERTH_ALLOWED_PRIVATE_HOSTS, or use one that is public.";

export const privateAddressProblem = (host: string, address: string): string =>
  `${host} is a private address or this machine (${address}), which this instance does not call. ${PRIVATE_ADDRESS_REMEDY}`;
