import ParseProtocol

extension ShopZone {
    /// `SATCHEL_TIME_ZONE`, UTC if not set.
    /// - Throws: `StartupProblem` for an unknown zone: days would begin at the wrong time.
    package static func ofShop(_ settings: Settings = .environment) throws(StartupProblem) -> ShopZone {
        guard let zone = ShopZone(settings.text("satchel.time.zone", default: ShopZone.utc.name)) else {
            throw settings.wrong(
                "satchel.time.zone", "cannot be used: it must be UTC or a name such as Europe/Berlin.")
        }
        return zone
    }
}
