extension Settings {
    /// `SATCHEL_READ_CACHE`: size in bytes of the gateway's cache of read responses; 0 (or `off`) disables it. Services
    /// read it too: without a cache they keep no board of changes.
    /// - Throws: `StartupProblem` for an invalid value.
    public func readCacheBytes() throws(StartupProblem) -> Int {
        let key = "satchel.read.cache"
        if self[key]?.lowercased() == "off" { return 0 }
        return try number(key, 0...16 << 30, default: 32 << 20)
    }
}
