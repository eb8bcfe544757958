import { privateAddressProblem } from "@berth/core";

/** The reason why no answer was received. An answer of any status is not a fault. */
export class HttpFault extends Error {
  override readonly name = "HttpFault";
  readonly reason: "private_address" | "timed_out" | "too_large" | "aborted" | "broken_off";
  readonly host: string;

  constructor(reason: HttpFault["reason"], host: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.host = host;
  }
}

export const privateAddress = (host: string, address: string) =>
  new HttpFault("private_address", host, privateAddressProblem(host, address));
