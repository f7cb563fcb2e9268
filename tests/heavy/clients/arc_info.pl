# What NorduGrid ARC's information providers understand of the cluster. Usage: arc_info.pl SLURM|PBS|LSF COMMANDS JOB
use strict;
use warnings;
use lib "/usr/share/arc";
my ($module, $commands, $job) = @ARGV;
require "$module.pm";
my %config = (slurm_bin_path => $commands, pbs_bin_path => $commands, pbs_log_path => "/tmp", lsf_bin_path => $commands, lsf_profile_path => "/dev/null", queues => {main => {}});
no strict "refs";
my %cluster = &{"${module}::cluster_info"}(\%config);
my %queue = &{"${module}::queue_info"}(\%config, "main");
my %jobs = &{"${module}::jobs_info"}(\%config, "main", [$job]);
print "cluster $cluster{totalcpus} $cluster{usedcpus}\nqueue $queue{totalcpus}\njob $jobs{$job}{status}\n";
