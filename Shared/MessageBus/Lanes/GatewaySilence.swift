import Messages

/// Decides whether a connected gateway is silent: its process is stopped, or hangs. Has no I/O.
///
/// A lost host needs no such decision, because the kernel closes the connection
/// (`BusConfiguration.unacknowledgedMilliseconds`).
package struct GatewaySilence {
    /// The intervals between probes that may pass without a message. A gateway probes at its next tick, up to a second
    /// late.
    private static let missedMax: BusClock.Milliseconds = 5
    /// Bounds of the interval, which a gateway may state as any number.
    private static let intervals: ClosedRange<BusClock.Milliseconds> = 100...60_000
    /// The longest time that one tick adds. Ticks are less than a second apart, unless this process or its thread stood
    /// still and has yet to receive what the gateway sent meanwhile.
    private static let tickMax: BusClock.Milliseconds = 1000

    private var isConnected = false
    /// The interval that the gateway has stated; nil for a gateway that has stated none, which is never silent.
    private var interval: BusClock.Milliseconds?
    private var wasHeard = false
    private var sinceMessage: BusClock.Milliseconds = 0
    private var lastTick: BusClock.Milliseconds
    /// Whether the gateway is silent.
    package private(set) var isSilent = false

    package init(now: BusClock.Milliseconds) { lastTick = now }

    /// A connection began.
    package mutating func connected() { isConnected = true }

    /// The connection ended. The next one may be to another process.
    package mutating func disconnected() {
        (isConnected, interval, isSilent) = (false, nil, false)
    }

    /// A probe came, which states the interval of probes (`Envelope.remaining`). It may have come over a connection
    /// that has ended.
    package mutating func promised(every milliseconds: BusClock.Milliseconds) {
        guard isConnected else { return }
        interval =
            milliseconds > 0
            ? min(max(milliseconds, Self.intervals.lowerBound), Self.intervals.upperBound) : nil
    }

    /// A message came. Returns whether it ends a silence.
    package mutating func heard() -> Bool {
        wasHeard = true
        guard isSilent else { return false }
        isSilent = false
        return true
    }

    /// To be called at least once a second, after the messages that have arrived. Returns whether a silence begins.
    package mutating func tick(now: BusClock.Milliseconds) -> Bool {
        let elapsed = min(now - lastTick, Self.tickMax)
        lastTick = now
        sinceMessage = wasHeard ? 0 : sinceMessage + elapsed
        wasHeard = false
        guard let interval, !isSilent, sinceMessage > interval * Self.missedMax else { return false }
        isSilent = true
        return true
    }
}
