import assert from "@std/assert";
import { isAddress, isPublicAddress } from "./public_address.ts";

const refused = [
  // IPv4: first and last of each network
  ["0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255"],
  ["127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.169.254", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255", "192.0.2.1", "192.88.99.1"],
  ["192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.9"],
  ["203.0.113.80", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"],
  ["168.63.129.16"],
  // IPv6
  ["::", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::FFFF:169.254.169.254"],
  ["::127.0.0.1", "::8.8.8.8", "::ffff:0:8.8.8.8", "64:ff9b::10.0.0.1", "64:ff9b::7f00:1"],
  ["64:ff9b:1::808:808", "64:ff9b:0:1::808:808", "100::1", "2001::1", "2001:0:4136:e378::1"],
  ["2001:2::1", "2001:10::1", "2001:20::1", "2001:1ff:ffff::1", "2001:db8::1"],
  ["2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2002:7f00:1::", "2002:a00:1::", "2002:808:808::1"],
  ["3fff::1", "3fff:fff::1", "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fdff::1"],
  ["fe80::1", "febf::1", "fec0::1", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
].flat();

const permitted = [
  ["1.0.0.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"],
  ["126.255.255.255", "128.0.0.1", "168.63.129.15", "168.63.129.17", "169.253.255.255"],
  ["169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.88.98.255"],
  ["192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0"],
  ["198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255"],
  ["2000::1", "2001:200::1", "2001:4860:4860::8888", "2001:db7:ffff::1", "2001:db9::1"],
  ["2606:4700::1111", "2a00:1450:4001:82b::200e", "3ffe::1", "3fff:1000::1"],
  ["::ffff:8.8.8.8", "::ffff:808:808", "64:ff9b::8.8.8.8", "64:ff9b::808:808"],
].flat();

Deno.test("no address of a private or special network is public, up to its edges", () => {
  for (const address of refused) {
    assert.equal(isAddress(address), true, address);
    assert.equal(isPublicAddress(address), false, address);
  }
});

Deno.test("addresses beside those networks are public", () => {
  for (const address of permitted) assert.equal(isPublicAddress(address), true, address);
});

Deno.test("an address in any other notation is not public", () => {
  const texts = ["", "localhost", "8.8.8", "8.8.8.8.8", "8.8.8.256", "08.8.8.8", "0x8.8.8.8", "8"]
    .concat(["8.8.8.8 ", " 8.8.8.8", "8.8.8.8\n", "+8.8.8.8", "8..8.8", "134744072", "8.8.8.8."])
    .concat([":", ":::", "2606", "2606:", "2606::1::2", "2606:4700::1111%eth0", "[2606::1]"])
    .concat(["2606:1:2:3:4:5:6", "2606:1:2:3:4:5:6:7:8", "2606:1:2:3:4:5:6:7::", "2606::12345"])
    .concat([
      "2606::g",
      "fe80::1%eth0",
      "::ffff:08.8.8.8",
      "::ffff:0x8.8.8.8",
      "::ffff:134744072",
      "::ffff:8.8.8.256",
      "::ffff:8.8.8",
      "8.8.8.8::",
      "2606::8.8.8.8:1",
    ]);
  for (const text of texts) {
    assert.equal(isAddress(text), false, JSON.stringify(text));
    assert.equal(isPublicAddress(text), false, JSON.stringify(text));
  }
});

Deno.test("an address is judged by what it is, however it is written", () => {
  const same = [
    ["::ffff:127.0.0.1", "0:0:0:0:0:ffff:127.0.0.1", "::FFFF:7F00:1", "0::ffff:7f00:0001"],
    ["2001:db8::1", "2001:0DB8:0:0:0:0:0:1", "2001:db8:0:0::0.0.0.1"],
    ["64:ff9b::10.0.0.1", "0064:ff9b:0:0:0:0:0a00:0001"],
  ];
  for (const spelling of same.flat()) {
    assert.equal(isAddress(spelling), true, spelling);
    assert.equal(isPublicAddress(spelling), false, spelling);
  }
});
