/** Classifies addresses as a connection would resolve them, whatever their spelling. */
export interface AddressBook {
  /** Whether a connection to this IP address or host name ends at Berth's own machine. */
  isOwn(host: string): Promise<boolean>;
}
