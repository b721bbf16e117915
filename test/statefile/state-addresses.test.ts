import { describe, expect, it } from "vitest";
import { instanceAddress, modulePath, providerName } from "../../src/statefile/state-instances.ts";

describe("a module's path", () => {
  it.each([
    ["", "root"],
    ["module.media_bucket", "media_bucket"],
    ['module.a["k"].module.b', 'a["k"].b'],
    ["module.a[1].module.module", "a[1].module"],
    ['module.a["x.module.y]\\"["].module.b', 'a["x.module.y]\\"["].b'],
    ["module.__proto__", "__proto__"],
    ["module.a.b", "module.a.b"],
    ["odd", "odd"],
  ])("%j is shown as %j", (module, shown) => {
    expect(modulePath(module)).toBe(shown);
  });
});

describe("a provider", () => {
  const aws = 'provider["registry.terraform.io/hashicorp/aws"]';

  it.each([
    [aws, "hashicorp/aws"],
    [`${aws}.west`, "hashicorp/aws"],
    [`${aws}.by_region["eu.west"]`, "hashicorp/aws"],
    [`module.x.${aws}`, "hashicorp/aws"],
    [`module.x["provider[\\"a\\"]"].${aws}.west`, "hashicorp/aws"],
    ['provider["terraform.io/builtin/terraform"]', "builtin/terraform"],
    ['provider["hashicorp/aws"]', "hashicorp/aws"],
    ["provider.aws", "aws"],
    ["provider.aws.west", "aws"],
    ["module.x.provider.aws", "aws"],
    ["odd", "odd"],
    ["", ""],
  ])("%s is shown as %s", (provider, shown) => {
    expect(providerName(provider)).toBe(shown);
  });
});

describe("an instance's address", () => {
  it.each([
    ["root", null, "aws_x.this"],
    ["root", 0, "aws_x.this[0]"],
    ["media_bucket", "0", 'media_bucket.aws_x.this["0"]'],
    ['a["k"].b', 'a"b\\é', 'a["k"].b.aws_x.this["a\\"b\\\\é"]'],
  ])("in %s with the key %j is %s", (module, key, address) => {
    expect(instanceAddress(module, "aws_x", "this", key)).toBe(address);
  });
});
