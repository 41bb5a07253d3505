import ParseProtocol

/// The constants of leases, shared by gateways and services.
package enum LeaseTerms {
    /// The services whose state gateways cache although others may change it: sessions (users), and webhooks with cloud
    /// code (catalog).
    package static let services: Set<String> = ["users", "catalog"]
    /// The duration of a lease, from the time of the gateway's request.
    package static let length: BusClock.Milliseconds = 3000
    /// The interval of a gateway's requests; several may be lost or late.
    package static let askingEvery: BusClock.Milliseconds = 450
    /// Margin that a service adds to the lease: clock rates differ by less than a thousandth, and both sides truncate
    /// to whole milliseconds.
    package static let margin: BusClock.Milliseconds = 300

    /// Milliseconds of a clock that includes suspended time (CLOCK_BOOTTIME): a gateway that was suspended with its
    /// host must not consider its lease valid.
    package static var now: BusClock.Milliseconds { BusClock.Milliseconds(SystemClock.sinceBoot / 1_000_000) }
}
