import type { RecordedProxy } from "./recorded-proxy.ts";

/** A node of a cluster, other than its manager, whose proxy takes requests too. */
export interface IngressNode {
  readonly name: string;
  readonly proxy: Pick<
    RecordedProxy,
    "sync" | "put" | "delete" | "inFlight" | "answered" | "lifecycle" | "useCertificates"
  >;
}
