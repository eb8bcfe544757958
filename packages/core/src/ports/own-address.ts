/** Looks at addresses as connecting does, whatever their spelling. */
export interface AddressBook {
  /** Whether a connection to this IP address or host name ends at the machine that Berth itself runs on. */
  isOwn(host: string): Promise<boolean>;
}
