import Glibc

/// The times of leases, which gateways and services know without telling each other.
package enum LeaseTerms {
    /// The services of which gateways keep something that others may change: sessions, and webhooks with cloud code.
    package static let services: Set<String> = ["users", "catalog"]
    /// The time for which a gateway believes what it keeps, from the moment when it asked.
    package static let length: BusClock.Milliseconds = 3000
    /// The time after which a gateway asks again: several may be lost or late.
    package static let askingEvery: BusClock.Milliseconds = 450
    /// The time by which a service counts longer than the gateway: clocks run apart by less than a thousandth, and both
    /// cut to whole milliseconds.
    package static let margin: BusClock.Milliseconds = 300

    /// Milliseconds of a clock that goes on while the host sleeps (CLOCK_BOOTTIME): a gateway that was stopped with its
    /// host must not take its lease for fresh.
    package static var now: BusClock.Milliseconds {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
