/** What one client has for itself of the internet: an IPv4 address, or the first half of an IPv6 one. */
export function clientNetwork(address: string): string {
  if (!address.includes(":") || address.startsWith("::ffff:")) return address;
  const [head = ""] = address.split("::");
  return head.split(":").slice(0, 4).join(":");
}
