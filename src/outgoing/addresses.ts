/** Classifies addresses: users enter URLs, so the service calls private addresses only if the operator allows them. */
import { BlockList, isIP } from "node:net";

const privateNetworks = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
  "::/96",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
];

type Family = "ipv4" | "ipv6";
const familyOf = (address: string): Family => (isIP(address) === 6 ? "ipv6" : "ipv4");

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return list;
}

const privateList = listOf(privateNetworks);

function unmapIpv4(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address) ?? [];
  if (high === undefined || low === undefined) return address;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join(".");
}

export type AddressClass = "public" | "allowed" | "private";

/** `allowed`: on the operator's list, private or not. */
export function addressClassifier(allowed: readonly string[]): (address: string) => AddressClass {
  const allowedList = listOf(allowed);
  return (address) => {
    const known = unmapIpv4(address);
    if (allowedList.check(known, familyOf(known))) return "allowed";
    return isIP(known) === 0 || privateList.check(known, familyOf(known)) ? "private" : "public";
  };
}
