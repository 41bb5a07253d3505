extension Settings {
    /// `SATCHEL_READ_CACHE`: bytes of answers that the gateway keeps for reads of the same; 0 (or `off`) for none.
    /// Services read it as well: without a cache they tell nobody what they are about to change.
    /// - Throws: `StartupProblem` for what is neither.
    public func readCacheBytes() throws(StartupProblem) -> Int {
        let key = "satchel.read.cache"
        if self[key]?.lowercased() == "off" { return 0 }
        return try number(key, 0...16 << 30, default: 32 << 20)
    }
}
