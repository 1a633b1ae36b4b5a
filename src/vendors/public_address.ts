import { BlockList, isIPv4, isIPv6 } from "node:net";

/**
 * Whether an IP address is one of the public internet, so that nothing of the operator's own is
 * behind it. Text that is no address is not public. Sources: the IANA registries of special-purpose
 * addresses (RFC 6890 and its followers), RFC 6052 for NAT64.
 */
export function isPublicAddress(text: string): boolean {
  if (isIPv4(text)) return !special.check(text, "ipv4");
  // An IPv4 address mapped into IPv6 is checked against the IPv4 ranges.
  return isAddress(text) && global.check(text, "ipv6") && !special.check(text, "ipv6");
}

/** Whether text is an IP address, as `URL.hostname` shows it without the brackets; no zones. */
export function isAddress(text: string): boolean {
  return isIPv4(text) || isIPv6(text) && !text.includes("%");
}

type Network = readonly [address: string, bits: number];

const specialIpv4: readonly Network[] = [
  ["0.0.0.0", 8], // this network
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // behind carriers' NAT
  ["127.0.0.0", 8], // loopback
  ["168.63.129.16", 32], // a cloud's platform services, public only by its number
  ["169.254.0.0", 16], // link-local, clouds' metadata
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16], // private
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 3], // multicast, reserved, broadcast
];

/** Within 2000::/3; everything outside it is not public anyway. */
const specialIpv6: readonly Network[] = [
  ["2001::", 23], // protocol assignments: Teredo, benchmarks, ORCHID
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4: leads to whatever IPv4 address it holds
  ["3fff::", 20], // documentation
];

/** NAT64's well-known prefix, which leads to the IPv4 address in the last 32 bits. */
const nat64 = "64:ff9b::";

const special = listOf(specialIpv4, [
  ...specialIpv6,
  ...specialIpv4.map(([address, bits]): Network => [nat64 + address, 96 + bits]),
]);

/** The only IPv6 addresses that can be public: global unicast, mapped IPv4, NAT64. */
const global = listOf([], [["2000::", 3], ["::ffff:0:0", 96], [nat64, 96]]);

function listOf(ipv4: readonly Network[], ipv6: readonly Network[]): BlockList {
  const list = new BlockList();
  for (const [address, bits] of ipv4) list.addSubnet(address, bits, "ipv4");
  for (const [address, bits] of ipv6) list.addSubnet(address, bits, "ipv6");
  return list;
}
