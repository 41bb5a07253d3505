import Foundation
import Logging
import MessageBus
import ProcessKit

/// The web service: pages for browsers.
package enum WebProgram {
    package static func main() async {
        ProcessMemory.keepSmall()
        ProcessStart.setUpLogging()
        EventCounters.setUp()
        do {
            try await runWeb()
        } catch {
            // An error thrown out of `main` would print a trap and a backtrace, which hide the configuration problem.
            Logger(label: "satchel").critical("The service cannot run.", metadata: ["error": "\(error)"])
            exit(1)
        }
    }
}
