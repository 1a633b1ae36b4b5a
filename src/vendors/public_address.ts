/**
 * Whether an IP address is one of the public internet, so that nothing of the operator's own is
 * behind it. Text that is no address is not public. Sources: the IANA
 * registries of special-purpose addresses (RFC 6890 and its followers), RFC 6052 for NAT64.
 */
export function isPublicAddress(text: string): boolean {
  const v4 = parseIpv4(text);
  if (v4 !== undefined) return isPublicIpv4(v4);
  const v6 = parseIpv6(text);
  return v6 !== undefined && isPublicIpv6(v6);
}

/** Whether text is an IP address, as `URL.hostname` shows it without the brackets. */
export function isAddress(text: string): boolean {
  return parseIpv4(text) !== undefined || parseIpv6(text) !== undefined;
}

const refusedIpv4: readonly (readonly [network: string, bits: number])[] = [
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
const refusedIpv6: readonly (readonly [network: string, bits: number])[] = [
  ["2001::", 23], // protocol assignments: Teredo, benchmarks, ORCHID
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4: leads to whatever IPv4 address it holds
  ["3fff::", 20], // documentation
];

function isPublicIpv4(address: bigint): boolean {
  return !refusedIpv4.some(([network, bits]) => isWithin(address, parseIpv4(network)!, 32 - bits));
}

function isPublicIpv6(address: bigint): boolean {
  // Both lead to the IPv4 address in their last 32 bits: mapped, and NAT64's well-known prefix.
  const upper = address >> 32n;
  if (upper === 0xffffn || upper === 0x64_ff9bn << 64n) return isPublicIpv4(address & 0xffff_ffffn);
  if (!isWithin(address, parseIpv6("2000::")!, 125)) return false;
  return !refusedIpv6.some(([network, bits]) => isWithin(address, parseIpv6(network)!, 128 - bits));
}

function isWithin(address: bigint, network: bigint, hostBits: number): boolean {
  return address >> BigInt(hostBits) === network >> BigInt(hostBits);
}

/** Four decimal numbers only; other spellings are none, `URL` has made them plain before. */
function parseIpv4(text: string): bigint | undefined {
  const deps = text.split(".");
  if (deps.length !== 4 || !deps.every((part) => /^(0|[1-9]\d{0,2})$/.test(part))) {
    return undefined;
  }
  if (deps.some((part) => Number(part) > 255)) return undefined;
  return deps.reduce((value, part) => value << 8n | BigInt(part), 0n);
}

/** RFC 4291 §2.2 with and without a dotted end; no zones (`fe80::1%eth0`). */
function parseIpv6(text: string): bigint | undefined {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const tail = dotted ? parseIpv4(dotted[2]!) : undefined;
  if (dotted && tail === undefined) return undefined;
  const plain = tail === undefined
    ? text
    : `${dotted![1]}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const halves = plain.split("::");
  if (halves.length > 2) return undefined;
  const [before, after] = halves.map((half) => half === "" ? [] : half.split(":"));
  const written = [...before!, ...after ?? []];
  if (!written.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  if (after ? written.length > 7 : written.length !== 8) return undefined;
  const zeros = Array<string>(8 - written.length).fill("0");
  const groups = [...before!, ...zeros, ...after ?? []];
  return groups.reduce((value, group) => value << 16n | BigInt(`0x${group}`), 0n);
}
