'use strict';
// Frames of the socket to the host: 4 bytes of length, big-endian, then JSON in UTF-8. No I/O here.

/** The largest frame in either direction, in bytes: the host's limit for one request or answer. */
const FRAME_BYTES_MAX = 64 * 1024 * 1024;
const HEADER_BYTES = 4;

/** A frame that is larger than FRAME_BYTES_MAX. */
class FrameTooLarge extends Error {
  constructor(bytes) {
    super(`A message of ${bytes} bytes is larger than the limit of ${FRAME_BYTES_MAX} bytes.`);
    this.bytes = bytes;
  }
}

/** The bytes of a message. Throws FrameTooLarge, or TypeError for a value that JSON cannot hold. */
function encodeFrame(message) {
  const text = JSON.stringify(message);
  const length = Buffer.byteLength(text);
  if (length > FRAME_BYTES_MAX) throw new FrameTooLarge(length);
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + length);
  bytes.writeUInt32BE(length, 0);
  bytes.write(text, HEADER_BYTES, 'utf8');
  return bytes;
}

/**
 * Decodes messages from chunks of a stream. A frame that is too large or is not JSON is skipped and reported to
 * `refused`, with the reason; the stream stays synchronised.
 */
class FrameReader {
  constructor(received, refused) {
    this.received = received;
    this.refused = refused;
    this.chunks = [];
    this.buffered = 0;
    this.skipped = 0;
    this.length = null;
  }

  push(chunk) {
    this.chunks.push(chunk);
    this.buffered += chunk.length;
    while (this.advance());
  }

  /** Does one step: skips, reads a header or reads a body. False when more bytes are needed. */
  advance() {
    if (this.skipped > 0) {
      const bytes = Math.min(this.skipped, this.buffered);
      if (bytes === 0) return false;
      this.take(bytes);
      this.skipped -= bytes;
      return true;
    }
    if (this.length === null) {
      if (this.buffered < HEADER_BYTES) return false;
      this.length = this.take(HEADER_BYTES).readUInt32BE(0);
      if (this.length > FRAME_BYTES_MAX) {
        this.refused(new FrameTooLarge(this.length));
        this.skipped = this.length;
        this.length = null;
      }
      return true;
    }
    if (this.buffered < this.length) return false;
    const body = this.take(this.length);
    this.length = null;
    this.deliver(body);
    return true;
  }

  deliver(body) {
    let message;
    try {
      message = JSON.parse(body.toString('utf8'));
    } catch (error) {
      this.refused(new Error(`A message from the host is not JSON: ${error.message}`));
      return;
    }
    this.received(message);
  }

  take(bytes) {
    if (this.chunks.length > 1 && this.chunks[0].length < bytes) this.chunks = [Buffer.concat(this.chunks)];
    this.buffered -= bytes;
    const first = this.chunks[0];
    if (!first || bytes === 0) return Buffer.alloc(0);
    if (first.length === bytes) return this.chunks.shift();
    this.chunks[0] = first.subarray(bytes);
    return first.subarray(0, bytes);
  }
}

module.exports = { FRAME_BYTES_MAX, FrameReader, FrameTooLarge, encodeFrame };
