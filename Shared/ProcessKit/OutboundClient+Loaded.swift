import Outbound

extension OutboundClient {
    /// A client for transfers that the settings ask for, which loads libcurl at once.
    /// - Throws: `StartupProblem` when that fails.
    package static func loaded(authorities: String?) throws(StartupProblem) -> OutboundClient {
        if let problem = libraryProblem { throw StartupProblem("libcurl cannot be loaded: \(problem)") }
        return OutboundClient(authorities: authorities)
    }
}
