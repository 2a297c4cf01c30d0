/** Random names and secrets that cannot be guessed. */

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** 32 characters of 62 are 190 bits. */
const tokenLength = 32;

/** `length` random alphanumerics from the system's generator, each equally likely. */
export function randomToken(length: number = tokenLength): string {
  const evenRange = 256 - (256 % alphabet.length);
  let token = "";
  while (token.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length * 2))) {
      if (byte < evenRange && token.length < length) token += alphabet[byte % alphabet.length];
    }
  }
  return token;
}
