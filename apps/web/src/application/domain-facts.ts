import type { Outputs } from "../api/client.ts";

export type DomainCheck = Outputs["applications"]["domainChecks"]["list"][number];

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** What was found out about a URL: names of rows and their sentences. */
export function domainFacts(check: DomainCheck): readonly (readonly [string, string])[] {
  const { url, addresses, dns_problem, route_problem } = check;
  return [
    ["DNS", dns_problem ?? (addresses.length > 0 ? `leads to ${addresses.join(", ")}` : "needs no public record")],
    ["Route", route_problem ?? "the proxy forwards it"],
    ["Certificate", url.startsWith("https:") ? certificateText(check) : "none: it is plain http"],
  ];
}

function certificateText({ certificate, certificate_problem }: DomainCheck): string {
  if (certificate === null) return certificate_problem ?? "not known";
  const until = `of ${certificate.issuer ?? "an unnamed authority"}, until ${DATE.format(new Date(certificate.expires_at))}`;
  return certificate_problem === null ? until : `${certificate_problem} It is ${until}.`;
}
