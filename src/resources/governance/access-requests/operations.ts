/** Operations on access requests. */
import type { MountedResource } from "../../../jsonapi/define.ts";
import type { ChangeParser } from "../../sharing/access-previews/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { accessRequests } from "./definition.ts";

const notYet = () => Promise.reject(new Error("not implemented yet"));

export function accessRequestResource(_parseChanges: ChangeParser): MountedResource<Context> {
  return implement(accessRequests, {
    createAccessRequest: notYet,
    listAccessRequests: notYet,
    showAccessRequest: notYet,
    approveAccessRequest: notYet,
    denyAccessRequest: notYet,
    withdrawAccessRequest: notYet,
  });
}
