import type { Outputs } from "../api/client.ts";
import type { Tone } from "../parts/state.tsx";

export type DomainCheck = Outputs["applications"]["domainChecks"]["list"][number];

/** A row with its sentence. */
export interface DomainFact {
  readonly name: string;
  readonly text: string;
  /** `off`: there is nothing to check. */
  readonly tone: Extract<Tone, "good" | "bad" | "off">;
}

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** What was found out about a URL. */
export function domainFacts(check: DomainCheck): readonly DomainFact[] {
  const { addresses, dns_problem, route_problem } = check;
  const dns: Fact =
    addresses.length > 0 ? ["good", `resolves to ${addresses.join(", ")}`] : ["off", "needs no public record"];
  return [
    factOf("DNS", dns_problem, dns),
    factOf("Route", route_problem, ["good", "the proxy forwards it"]),
    certificateFact(check),
  ];
}

type Fact = readonly [DomainFact["tone"], string];

function factOf(name: string, problem: string | null, [tone, text]: Fact): DomainFact {
  return problem === null ? { name, text, tone } : { name, text: problem, tone: "bad" };
}

function certificateFact({ url, certificate, certificate_problem }: DomainCheck): DomainFact {
  const name = "Certificate";
  if (!url.startsWith("https:")) return { name, text: "none: it is plain http", tone: "off" };
  if (certificate === null) return factOf(name, certificate_problem, ["off", "not known"]);
  const until = `of ${certificate.issuer ?? "an unnamed authority"}, until ${DATE.format(new Date(certificate.expires_at))}`;
  return factOf(name, certificate_problem && `${certificate_problem} It is ${until}.`, ["good", until]);
}
