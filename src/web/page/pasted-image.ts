/** An image from the clipboard becomes a file on the session's machine, whose path is typed. */
import { type ImageFormat, imageFormats, MAX_IMAGE_DATA } from "../../protocol/paste.ts";
import type { ControlSocket } from "../connection/control-socket.ts";
import { showError, toast } from "./toasts.ts";

/** Maximum bytes of one message, before base64. */
const MAX_BYTES = (MAX_IMAGE_DATA / 4) * 3;
/** Scales to try in turn until the image is small enough. */
const SCALES = [1, 0.75, 0.5, 0.33, 0.2, 0.1];
const QUALITY = 0.9;

export async function pasteImage(file: Blob, control: ControlSocket, pane: string): Promise<void> {
  try {
    const { blob, format } = await fitToMessage(file);
    const data = await base64(blob);
    await control.call("paste_image", { data, format }, pane);
    toast("The image is a file there; its path is typed.", { ms: 2_500 });
  } catch (error) {
    showError(error);
  }
}

/** The file itself if one message can carry it, else a smaller version of the image. */
async function fitToMessage(file: Blob): Promise<{ readonly blob: Blob; readonly format: ImageFormat }> {
  const format = imageFormats.find((each) => file.type === `image/${each}`);
  if (format !== undefined && file.size <= MAX_BYTES) return { blob: file, format };
  const image = await createImageBitmap(file);
  for (const scale of SCALES) {
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(image.width * scale));
    canvas.height = Math.max(1, Math.round(image.height * scale));
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/jpeg", QUALITY));
    if (blob !== null && blob.size <= MAX_BYTES) return { blob, format: "jpeg" };
  }
  throw new Error("The image is too large.");
}

function base64(blob: Blob): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => failed(reader.error ?? new Error("The image cannot be read."));
    reader.readAsDataURL(blob);
  });
}
