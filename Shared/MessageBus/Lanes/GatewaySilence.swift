import Messages

/// Decides whether a connected gateway is silent: its process is stopped, or hangs. Has no I/O.
///
/// A lost host needs no such decision, because the kernel closes the connection
/// (`BusConfiguration.unacknowledgedMilliseconds`).
package struct GatewaySilence {
    /// The intervals between probes that may pass without a message.
    private static let missedMax: BusClock.Milliseconds = 4
    /// The longest time that one tick adds. Ticks are at most half a second apart, unless this process was stopped
    /// itself and has yet to receive what the gateway sent meanwhile.
    private static let tickMax: BusClock.Milliseconds = 1000

    /// The longest time between two probes, as stated by the gateway; 0 for a gateway that does not state it, which is
    /// never silent.
    private var interval: BusClock.Milliseconds = 0
    private var sinceMessage: BusClock.Milliseconds = 0
    private var lastTick: BusClock.Milliseconds
    /// Whether the gateway is silent.
    package private(set) var isSilent = false

    package init(now: BusClock.Milliseconds) { lastTick = now }

    /// The connection ended, or began: perhaps to another process.
    package mutating func reset() { (interval, sinceMessage, isSilent) = (0, 0, false) }

    /// A probe came, which states when the next one follows (`Envelope.remaining`).
    package mutating func promised(within milliseconds: BusClock.Milliseconds) { interval = max(0, milliseconds) }

    /// A message came. Returns whether it ends a silence.
    package mutating func heard() -> Bool {
        sinceMessage = 0
        guard isSilent else { return false }
        isSilent = false
        return true
    }

    /// To be called several times a second, after the messages that have arrived. Returns whether a silence begins.
    package mutating func tick(now: BusClock.Milliseconds) -> Bool {
        sinceMessage += min(now - lastTick, Self.tickMax)
        lastTick = now
        guard interval > 0, !isSilent, sinceMessage > interval * Self.missedMax else { return false }
        isSilent = true
        return true
    }
}
